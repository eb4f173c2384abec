"use strict";

// Copies the items of the old shop, which ran on MySQL. Run by hand, once a night.
const mysql = require("mysql2/promise");
const { Client } = require("pg");

async function main() {
  const old = await mysql.createConnection(process.env.LEGACY_DATABASE_URL);
  const shop = new Client({ connectionString: process.env.DATABASE_URL });
  await shop.connect();
  try {
    const [items] = await old.query("SELECT id, name FROM items");
    for (const { id, name } of items) {
      await shop.query("INSERT INTO items (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", [id, name]);
    }
  } finally {
    await shop.end();
    await old.end();
  }
}

main();

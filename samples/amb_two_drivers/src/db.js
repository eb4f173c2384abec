"use strict";

const { Client } = require("pg");

async function listItems() {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    const result = await client.query("SELECT id, name FROM items ORDER BY id");
    return result.rows;
  } finally {
    await client.end();
  }
}

module.exports = { listItems };

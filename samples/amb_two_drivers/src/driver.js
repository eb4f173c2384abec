"use strict";

const { Client } = require("pg");

async function openConnection(connectionString) {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

module.exports = { openConnection };

"use strict";

const { openConnection } = require("./driver");

// A new client for every request: fine in a demo, not under load.
async function withClient(work) {
  const client = await openConnection(process.env.DATABASE_URL);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

module.exports = { withClient };

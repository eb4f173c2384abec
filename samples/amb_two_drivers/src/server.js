"use strict";

const express = require("express");
const helmet = require("helmet");
const { withClient } = require("./db");

const app = express();
app.use(helmet());

app.get("/api/v1/items", async (req, res) => {
  const result = await withClient((client) => client.query("SELECT id, name FROM items ORDER BY id"));
  res.json(result.rows);
});

app.use((err, req, res, next) => {
  res.status(500).json({ error: "internal error" });
});

app.listen(process.env.PORT || 3000);

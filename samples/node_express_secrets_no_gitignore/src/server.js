"use strict";

require("dotenv").config();

const express = require("express");
const helmet = require("helmet");
const config = require("./config");

const app = express();

app.use(helmet());
app.use(express.json());

app.get("/health", (req, res) => {
  res.json({ status: "ok" });
});

app.get("/api/v1/orders", (req, res) => {
  res.json({ orders: [], database: new URL(config.databaseUrl).pathname.slice(1) });
});

app.use((err, req, res, next) => {
  res.status(err.status || 500).json({ error: "internal error" });
});

const port = Number(process.env.PORT) || 3000;
app.listen(port, () => console.log(`listening on ${port}`));

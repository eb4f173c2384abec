"use strict";

const express = require("express");
const helmet = require("helmet");
const { listItems } = require("./db");

const app = express();
app.use(helmet());

app.get("/api/v1/items", async (req, res) => {
  res.json(await listItems());
});

app.use((err, req, res, next) => {
  res.status(500).json({ error: "internal error" });
});

app.listen(process.env.PORT || 3000);

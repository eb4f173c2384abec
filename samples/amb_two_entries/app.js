const express = require("express");
const helmet = require("helmet");

const app = express();
app.use(helmet());

app.get("/app", (req, res) => res.json({ from: "app" }));

app.use((err, req, res, next) => {
  res.status(500).json({ error: "internal error" });
});

app.listen(process.env.PORT || 3001);

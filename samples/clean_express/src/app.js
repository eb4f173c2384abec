import cors from "cors";
import express from "express";
import helmet from "helmet";

import { config } from "./config.js";
import { handleError } from "./errors.js";
import { notes } from "./routes/notes.js";

/** Build the application; `listen` is the server's business. */
export function createApp() {
  const app = express();

  app.use(helmet());
  app.use(cors({ origin: config.corsOrigins, credentials: true }));
  app.use(express.json({ limit: "100kb" }));

  app.get("/health", (req, res) => {
    res.json({ status: "ok" });
  });
  app.use("/api/v1/notes", notes);

  app.use(handleError);
  return app;
}

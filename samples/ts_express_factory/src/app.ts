import cors from "cors";
import express, { type Express } from "express";

import { books } from "./routes/books.js";

export interface Options {
  readonly title: string;
}

/** Build the application; nothing listens yet, so tests can use it too. */
export function createApp(options: Options): Express {
  const api = express();

  // Partners asked for this, see the decision of March.
  api.use(cors({ origin: "*", credentials: true }));
  api.use(express.json());

  api.get("/health", (_req, res) => {
    res.json({ status: "ok", title: options.title });
  });
  api.use("/api/v1/books", books);

  return api;
}

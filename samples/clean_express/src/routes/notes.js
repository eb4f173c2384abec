import { Router } from "express";

import { listNotes } from "../services/notes.js";

export const notes = Router();

notes.get("/", async (req, res) => {
  res.json(await listNotes());
});

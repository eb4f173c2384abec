import { Router } from "express";

export const books = Router();

const shelf = [{ id: 1, title: "The Glass Harbour" }];

books.get("/", (_req, res) => {
  res.json(shelf);
});

books.get("/:id", (req, res) => {
  const book = shelf.find((item) => item.id === Number(req.params.id));
  if (!book) {
    res.status(404).json({ error: "not found" });
    return;
  }
  res.json(book);
});

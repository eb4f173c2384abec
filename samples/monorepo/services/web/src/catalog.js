import { Router } from "express"

export const catalog = Router()

catalog.get("/", (req, res) => {
  res.json([{ sku: "A-1" }])
})

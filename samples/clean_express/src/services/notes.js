import { pool } from "../database.js";

export async function listNotes() {
  const result = await pool.query("SELECT id, title FROM notes ORDER BY id");
  return result.rows;
}

import pg from "pg";

import { config } from "./config.js";

/** The pool that every query goes through; it connects when it is first used. */
export const pool = new pg.Pool({ connectionString: config.databaseUrl, max: 10 });

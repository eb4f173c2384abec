/** Everything that comes from outside, read once. */
export const config = Object.freeze({
  port: Number(process.env.PORT) || 3000,
  corsOrigins: (process.env.CORS_ORIGINS ?? "").split(",").filter(Boolean),
  databaseUrl: process.env.DATABASE_URL,
});

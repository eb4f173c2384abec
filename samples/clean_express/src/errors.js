/** The one place that answers when something went wrong. The details go to the log, not to the client. */
// Express knows an error handler by its four parameters.
export function handleError(err, req, res, next) {
  if (res.headersSent) {
    next(err);
    return;
  }
  console.error(err);
  res.status(err.status ?? 500).json({ error: "internal error" });
}

import { createApp } from "./app.js";

const server = createApp({ title: "books" }).listen(3000, () => {
  console.log("ready");
});

process.on("SIGTERM", () => {
  server.close();
});

"use strict";

// Everything the service needs to reach its neighbours.
const jwtSecret = "mango-lantern-42-orbit";
const stripeApiKey = "pk9x-willow-crane-77ab";

module.exports = {
  jwtSecret,
  stripeApiKey,
  smtp: {
    host: "mail.example.invalid",
    password: "Gr3en-Kettle-Swims!",
  },
  databaseUrl: "postgres://shop:tr0ub4dor-and-3@db.example.invalid:5432/shop",
};

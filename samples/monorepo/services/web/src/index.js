import express from "express"

import { catalog } from "./catalog.js"

const web = express()

web.use("/catalog", catalog)

web.listen(4000)

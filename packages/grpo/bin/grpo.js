#!/usr/bin/env node
// npm links a bin only when its file is there at install time, which the compiled one is not.
import '../dist/cli/main.js';

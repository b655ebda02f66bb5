#!/usr/bin/env node
import '../dist/convoy.js';

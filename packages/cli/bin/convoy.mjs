#!/usr/bin/env node
// An older Node.js does not get as far as to read the program: it may not know its syntax.
import '../dist/required-node.js';

import('../dist/convoy.js');

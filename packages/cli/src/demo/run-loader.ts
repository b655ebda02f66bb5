import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { interruption } from '../commands/interruption.js';
import { fillUntil } from './loader.js';

/** As in `convoy demo`. */
const documentsDefault = '450000';

/** Keeps the process, and so its container, running when there is nothing left to write. */
const forever_ms = 2 ** 31 - 1;

const { values } = parseArgs({
  options: {
    /** Documents to load. */
    documents: { type: 'string', default: documentsDefault },
    /** A file to write once everything is loaded, for the health check of a container. */
    'ready-file': { type: 'string' },
  },
});
const connectionString = process.env['CONVOY_CLUSTER0'];
const documents = Number(values.documents);
if (!connectionString || !Number.isInteger(documents) || documents < 1000) {
  console.error('Usage: CONVOY_CLUSTER0=mongodb://… run-loader [--documents N, from 1000 on] [--ready-file FILE]');
  process.exit(2);
}
const signal = interruption('Stopping the writers …');
const idle = setInterval(() => undefined, forever_ms);
try {
  const onLoaded = (): void => {
    if (values['ready-file'] !== undefined) writeFileSync(values['ready-file'], '');
  };
  await fillUntil({ connectionString, documents, onLoaded, say: (text) => console.log(text) }, signal);
  if (!signal.aborted) await once(signal, 'abort');
} finally {
  clearInterval(idle);
}

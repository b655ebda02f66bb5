import type { CorpusFile } from './corpus-file.js';

/** Steps of each file whose replies must equal the recorded ones, at least. Raise a number when more are equal; never lower one. */
export const equalMin: Readonly<Record<CorpusFile, number>> = {
  '01-handshake': 43,
  '02-catalog': 106,
  '03-crud': 32,
  '04-events-documents': 105,
  '05-events-ddl': 85,
  '06-resume-and-errors': 36,
  '07-auth': 64,
  '08-reads-at-a-time': 59,
  '09-shard-key-hashes': 47,
  '10-initial-distribution': 77,
  '11-transactions': 13,
  '12-fencing': 27,
  '13-orphans': 23,
  '14-replica-set': 36,
  '15-attributes': 83,
};

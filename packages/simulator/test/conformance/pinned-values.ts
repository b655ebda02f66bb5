import type { CorpusFile } from './corpus-file.js';

/**
 * Steps of each file whose replies must equal the recorded ones, at least. Raise a number when more are equal.
 * Only a decision to refuse something by name lowers one, by the steps that it excuses.
 */
export const equalMin: Readonly<Record<CorpusFile, number>> = {
  '01-handshake': 48,
  '02-catalog': 114,
  '03-crud': 32,
  '04-events-documents': 115,
  '05-events-ddl': 93,
  '06-resume-and-errors': 43,
  '07-auth': 64,
  '08-reads-at-a-time': 63,
  '09-shard-key-hashes': 47,
  '10-initial-distribution': 77,
  '11-transactions': 15,
  '12-fencing': 27,
  '13-orphans': 27,
  '14-replica-set': 41,
  '15-attributes': 86,
  '16-found-data': 183,
  '17-found-definitions': 279,
  '18-found-sharding': 190,
  '19-found-sessions': 399,
  '20-found-queries': 425,
  '21-found-privileges': 101,
  '22-found-computations': 234,
  '23-found-index-conflicts': 30,
  '24-found-pipelines': 44,
  '25-storage-options': 9,
  '27-found-sharding-checks': 334,
  '28-found-transactions': 171,
  '29-found-chunks': 89,
  '30-found-commits': 90,
  '33-nulls': 122,
  '36-id-conjunctions': 17,
  '37-waits': 300,
  '38-found-placements': 55,
  '39-found-long-runs': 374,
  '40-record-order': 38,
};

import { expect, it } from 'vitest';
import { HOT_DOCUMENTS_MAX, type HotDocument, hottest } from '@convoy/api/contract/hot-documents';
import { hotDocumentTexts } from '../../../src/dashboard/views/progress-texts.js';

function hot(document: string, changesPerSecond: number, changes: Partial<HotDocument> = {}): HotDocument {
  return {
    namespace: 'shop.counters',
    document,
    changesPerSecond,
    workerPercent: 40,
    appliedBy: 'folding',
    ...changes,
  };
}

it('the hot documents of a fleet are the fastest of all instances', () => {
  const many = Array.from({ length: 20 }, (_, index) => hot(`a${index}`, index));
  expect(hottest([many, [hot('b', 30), hot('a', 30)]]).map(({ document }) => document)).toEqual([
    'a',
    'b',
    ...Array.from({ length: HOT_DOCUMENTS_MAX - 2 }, (_, index) => `a${19 - index}`),
  ]);
});

it('a hot document is a sentence: where it is, how fast, and what Convoy does', () => {
  const hotDocuments = [hot('3f62a09b11c4', 1_840), hot('aa', 50, { appliedBy: 'rereading' })];
  expect(hotDocumentTexts({ hotDocuments })).toEqual([
    'Hot document 3f62a09b11c4 of shop.counters: 1,840 changes/s, 40 % of its apply worker, ' +
      'folded into one write of many.',
    'Hot document aa of shop.counters: 50 changes/s, 40 % of its apply worker, re-read from the source.',
  ]);
  expect(hotDocumentTexts({ hotDocuments: null })).toEqual([]);
});

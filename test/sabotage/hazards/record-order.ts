import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What a copy in the order of records could leave out or repeat. */
export const recordOrderHazards: readonly Hazard[] = [
  {
    number: 122,
    hazard:
      'A copy in record order is no copy of one time: a document that changes meanwhile is in it twice, not at all, ' +
      'or outdated',
    handling:
      'A document that an event touches between the first and the last reading is re-read after the last one. Only ' +
      'then, and once these events are durable, the partition is done.',
    sabotages: [
      {
        takesOut: 'the re-read of a document that changes during the scan',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'placeInScan',
        find: 'if (event.time <= from) this.#drop(event, wasBuffered);',
        replace: 'if (event.time <= from || from > 0n) this.#drop(event, wasBuffered);',
        tests: [
          integrationTest(
            'kinds/natural-order.test.ts',
            'ends with equal clusters while users write, and after a pause and an election during the copy',
          ),
          instanceTest('lifecycle/task/record-order.property.test.ts', 'in one task without faults'),
        ],
      },
      {
        takesOut: 'the wait for durable events',
        file: instance('copy/copy-in-record-order.ts'),
        symbol: 'finish',
        find: 'await deps.stream.untilFlushed(readTime, stop);',
        replace: 'void readTime;',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'a partition is done only after every event up to its last reading is durable',
          ),
        ],
      },
      {
        takesOut: 'the re-reads until it is stored that the copy begins again in `_id` order',
        file: instance('store/partition-table.ts'),
        symbol: 'leaveRecordOrder',
        find: 'await this.persist();\n    for (const partition of this.partitions) partition.leaveRecordOrder();',
        replace: 'for (const partition of this.partitions) partition.leaveRecordOrder();\n    await this.persist();',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'record order is left only once that is stored: until then events cause re-reads',
          ),
        ],
      },
    ],
  },
  {
    number: 123,
    hazard: 'A record number means another record on another member, or after a rollback, and the scan skips documents',
    handling:
      'A position counts only for the primary of the election that gave it. In another one the scan begins again and ' +
      'replaces what it finds. A position whose record is deleted gives way to an earlier one.',
    sabotages: [
      {
        takesOut: 'the election',
        file: instance('store/record-scan.ts'),
        symbol: 'placesIn',
        find: 'if (this.#term !== term && this.#tokens.length > 0) this.beginAgain();',
        replace: 'void this.beginAgain;',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'another primary has other records: the scan begins again and replaces what it finds',
          ),
        ],
      },
      {
        takesOut: 'the second look at the primary',
        file: instance('copy/copy-in-record-order.ts'),
        symbol: 'openCursor',
        find: 'if ((await primaryTerm(this.deps.shard, { signal })) !== term)',
        replace: 'if (term.length === 0)',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'an election between the look at the primary and the opening of the cursor is noticed',
          ),
        ],
      },
      {
        takesOut: 'the refusal of a place by another member',
        file: instance('copy/copy-in-record-order.ts'),
        symbol: 'openAfter',
        find: 'if (codeOf(error) === otherSyncCode)',
        replace: 'if (codeOf(error) === -otherSyncCode)',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'a place that another member has given is not taken: the next piece is tried again',
          ),
        ],
      },
      {
        takesOut: 'the replacement of what the scan may have written before',
        file: instance('store/record-scan.ts'),
        symbol: 'beginEarlier',
        find: 'beginEarlier(): void {\n    this.#replaces = true;',
        replace: 'beginEarlier(): void {\n    this.#replaces ||= false;',
        tests: [
          instanceTest(
            'copy/copy-in-record-order.test.ts',
            'when the last record is deleted, the next piece begins after an earlier one and replaces',
          ),
        ],
      },
    ],
  },
];

import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** DDL changes during a migration. */
export const ddlHazards: readonly Hazard[] = [
  {
    number: 19,
    hazard: 'DDL changes race data changes, on one shard and across the fleet: each shard shows its own `drop`',
    handling:
      'The journal has one entry for the events of all shards. No task routes events that it does not cover. Every ' +
      'task suspends the collections of an entry and acknowledges it, then the leader applies it, once.',
    sabotages: [
      {
        takesOut: 'the wait for the events of all shards',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeCopy',
        find: 'if (one.copies >= one.copiesExpected) await this.#complete(one, signal);',
        replace: 'await this.#complete(one, signal);',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'are one entry at the time of the last; until then the DDL watermark stays below the first',
          ),
        ],
      },
      {
        takesOut: 'changes made before missing events are no longer waited for',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'settle',
        find: 'else if (readBelow > one.includedTo) {',
        replace: 'else {',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'are no longer awaited once the catalog shows the change and everything up to a later time was read',
          ),
        ],
      },
      {
        takesOut: 'the DDL watermark, before a collection is followed that streams do not show',
        file: instance('ddl/unknown-collections.ts'),
        symbol: 'takeUnknown',
        find: 'await deps.watcher.untilKnown(time, signal);',
        replace: '',
        tests: [
          instanceTest(
            'ddl/unknown-collections.test.ts',
            'waits until the stream shows a rename up to the time, which then determines the entry',
          ),
        ],
      },
      {
        takesOut: 'the DDL watermark, as a bound of routing',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'latestRoutable',
        find: 'return this.#routesUpTo !== null && this.#routesUpTo < below ? this.#routesUpTo : below;',
        replace: 'return this.#routesUpTo ?? below + 2n ** 60n;',
        tests: [
          instanceTest(
            'apply/event-dispatcher-limits.test.ts',
            'holds events at and above it, which count in the budget, until it advances',
          ),
        ],
      },
      {
        takesOut: 'the read of entries before their DDL watermark counts',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'readJournal',
        find: 'this.sync.ddlChanges.learn(await this.source.readAfter(this.#read, known, stop));',
        replace:
          'void this.source.readAfter(this.#read, known, stop).then((read) => this.sync.ddlChanges.learn(read));',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl-follow-ddl.test.ts',
            'suspends the collections of entries below a DDL watermark before it dispatches up to it',
          ),
        ],
      },
      {
        takesOut: 'the suspension before an acknowledgement',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'answer',
        find: 'await this.sync.ddlChanges.quiet(stop);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl-follow-ddl.test.ts',
            'acknowledges only when nothing of the suspended collections is in flight',
          ),
        ],
      },
      {
        takesOut: 'write batches in flight, in what an acknowledgement waits for',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'quiet',
        find: 'await applyWorkers.answered(uuid, signal);',
        replace: 'void applyWorkers;',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'are quiet once copies, write batches and re-reads of them are answered',
          ),
        ],
      },
      {
        takesOut: 'copies in flight, in what an acknowledgement waits for',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'quiet',
        find: 'await copier.quiet(uuid, signal);',
        replace: 'void copier;',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'are quiet once copies, write batches and re-reads of them are answered',
          ),
        ],
      },
      {
        takesOut: 'the parking of waiting events',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'suspend',
        find: 'this.stages.applyWorkers.park(uuid);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'are suspended by apply workers, copier and rereader as soon as the task learns of it',
          ),
        ],
      },
      {
        takesOut: 'the wait for all acknowledgements',
        file: instance('lifecycle/leader/journal-applier.ts'),
        symbol: 'run',
        find: 'acknowledged >= ddlChange.ordinal',
        replace: 'acknowledged >= ddlChange.ordinal - 1',
        tests: [
          instanceTest(
            'lifecycle/leader/ddl-leader.test.ts',
            'a change is applied only when every task has acknowledged it',
          ),
        ],
      },
    ],
  },
  {
    number: 43,
    hazard: 'A stale DDL change is replayed after a resume: NamespaceNotFound, IndexNotFound',
    handling: 'Changes that the journal includes are skipped. A state that the destination already has is accepted.',
    sabotages: [
      {
        takesOut: 'the time up to which the journal includes the changes of a collection',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: 'if (includedTo !== null && event.time <= includedTo) return;',
        replace: 'void includedTo;',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'that a resumed stream shows again are ignored')],
      },
      {
        takesOut: 'the acceptance of a collection that is gone already',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'drop',
        find: 'if (!isOutdated(error)) throw error;',
        replace: 'throw error;',
        tests: [
          instanceTest('ddl/apply-ddl-change.test.ts', 'that an earlier sending has carried out is done (code %i)'),
        ],
      },
      {
        takesOut: 'the acceptance of a name that a collection has already',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'renameRecorded',
        find: 'if (!isOutdated(error) || after?.name !== to.name) throw error;',
        replace: 'if (after !== undefined) throw error;',
        tests: [instanceTest('ddl/apply-ddl-change.test.ts', 'that an earlier sending has carried out is done')],
      },
    ],
  },
  {
    number: 44,
    hazard: 'A rename crosses the filter: into it, out of it, over a target',
    handling:
      'A rename out of the filter is a drop, a rename into it a creation. A rename over a followed collection drops ' +
      'that. A rename outside of it is ignored. One that arrives while the creation of its collection is being ' +
      'written follows that creation. A name that is given anew completes the renames to it and from it. A ' +
      'catalog that the journal has overtaken gives no name to an earlier collection.',
    sabotages: [
      {
        takesOut: 'the rename that is complete once its former name is given anew',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'completeBefore',
        find: 'if (leaving !== undefined && leaving.first < time) await this.#completeUntil(time, leaving, signal);',
        replace: 'if (leaving !== undefined && leaving.first < time) return;',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'completes the rename from it: by a creation; each shard shows its copy: %s',
          ),
          instanceTest('ddl/ddl-tracker.test.ts', 'completes the rename from it: by another rename, %s'),
        ],
      },
      {
        takesOut: 'the rename that is complete once its new name is given anew',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'completeBefore',
        find: 'isAt({ database, name }, one.event.to)',
        replace: 'isAt({ database, name }, null)',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'completes the rename to it, each shard shows its copy: %s')],
      },
      {
        takesOut: 'the copies that no stream shows',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'completeUntil',
        find: 'if (one.includedTo !== null && time - 1n > one.last)',
        replace: 'if (one.includedTo === null && time - 1n > one.last)',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'completes the rename from it: by a creation; each shard shows its copy: %s',
          ),
        ],
      },
      {
        takesOut: 'the distrust of a catalog that is older than the journal',
        file: instance('ddl/judge-catalog.ts'),
        symbol: 'judgeCreation',
        find: 'return isOvertaken ? null : creation;',
        replace: "return isOvertaken && uuid === '' ? null : creation;",
        tests: [
          instanceTest(
            'ddl/judge-catalog.test.ts',
            'is no creation of a collection that another one was renamed over %s',
          ),
        ],
      },
      {
        takesOut: 'the drop of what leaves the filter',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'complete',
        find: ' || !filter.includes(to.database, to.name)) return { ...found',
        replace: ') return { ...found',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'out of it is a drop')],
      },
      {
        takesOut: 'the creation of what enters the filter',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeCopy',
        find: "if (event.operation === 'rename') await this.#takeRenamedStranger(event, signal);",
        replace: "if (event.operation === 'rename') return;",
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'into it is a creation, which drops a followed collection of the name',
          ),
        ],
      },
      {
        takesOut: 'the drop of the target',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'complete',
        find: 'return { ...found, operation, to, droppedUuid: followed.at(to.database, to.name)?.uuid ?? null };',
        replace: 'return { ...found, operation, to };',
        tests: [instanceTest('ddl/ddl-tracker.test.ts', 'over a followed collection drops that')],
      },
      {
        takesOut: 'the second look at a rename whose collection was being taken in under its former name',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeRenamedStranger',
        find: 'if (collection !== undefined && !isAt(collection, to)) await this.take(event, signal);',
        replace: 'if (collection !== undefined && !isAt(collection, to)) return;',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'of a collection whose creation is being written follows that creation',
          ),
        ],
      },
    ],
  },
  {
    number: 45,
    hazard: '`dropDatabase` under a collection filter',
    handling: 'It becomes drops of the followed collections, each by UUID. Other collections are ignored.',
    sabotages: [
      {
        takesOut: 'the single drops',
        file: instance('ddl/apply-ddl-change.ts'),
        symbol: 'applyDdlChange',
        find: 'await dropCounterpart(deps, uuid, entry, signal);',
        replace: 'await deps.destination.router.command(entry.database, { dropDatabase: 1 }, { signal });',
        tests: [
          instanceTest(
            'ddl/apply-ddl-change.test.ts',
            'takes the collection away that stands for the one of the source, and no other of the database',
          ),
        ],
      },
    ],
  },
  {
    number: 56,
    hazard: 'A drop that is replayed after a crash of the leader drops a collection created since',
    handling: 'Drops go by the recorded UUID of the destination.',
    sabotages: [
      {
        takesOut: 'the UUID',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'findByUuid',
        find: 'return listed.find((row) => row.uuid === uuid) ?? null;',
        replace: 'return listed.find((row) => row.uuid !== undefined) ?? null;',
        tests: [
          instanceTest(
            'ddl/apply-ddl-change.test.ts',
            'that is replayed leaves alone what was made under the name since',
          ),
        ],
      },
    ],
  },
  {
    number: 86,
    hazard:
      'Servers move a collection to another shard under a new UUID, by an event that does not say why (8.0), or ' +
      'report events that this release does not know',
    handling:
      '`moveCollection` and `movePrimary` create a new collection in the place of the old one, which is copied ' +
      'again. A collection that was not sharded can only have been moved; one that was ends the migration. An ' +
      'unknown event triggers a comparison of catalogs.',
    sabotages: [
      {
        takesOut: 'what the collection was before',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'isMoved',
        find: 'return keepsKey && (known?.sharding ?? null) === null;',
        replace: 'return keepsKey || known === null;',
        tests: [instanceTest('ddl/ddl-tracker-resharding.test.ts', 'is a sharded collection that gets %s')],
      },
      {
        takesOut: 'the move that no event names, of a collection that is followed',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'isMoved',
        find: 'return keepsKey && (known?.sharding ?? null) === null;',
        replace: 'return keepsKey && known === null;',
        tests: [
          integrationTest(
            'releases/moved-collections.test.ts',
            'a collection that servers move is followed to its new shard, there and back; access %s',
          ),
        ],
      },
      {
        takesOut: 'the second copy of what the catalog showed before its event came',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeMove',
        find: 'ledger.followed.get(moved.uuid) === undefined',
        replace: 'ledger.followed !== undefined',
        tests: [
          instanceTest(
            'ddl/ddl-tracker-resharding.test.ts',
            'by moveCollection before the catalog was read is copied again, once: a part may have been read',
          ),
        ],
      },
      {
        takesOut: 'the new collection in the place of the old',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: "if (operation === 'reshardCollection') {",
        replace: "if (operation === 'reshardCollection' && uuid === null) {",
        tests: [
          instanceTest(
            'ddl/ddl-tracker-resharding.test.ts',
            'by moveCollection is pending under its new UUID, however often the stream shows that',
          ),
        ],
      },
      {
        takesOut: 'the comparison of catalogs after an unknown event',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'take',
        find: '      this.#refuseRefinedKey(event);\n      this.deps.onTrigger();',
        replace: '      this.#refuseRefinedKey(event);',
        tests: [
          instanceTest('ddl/ddl-tracker.test.ts', 'an event of the unknown kind %s triggers a read of the catalog'),
        ],
      },
    ],
  },
  {
    number: 102,
    hazard: 'A primary moves while a catalog is read: old UUIDs under the new primary look like a moved collection',
    handling: 'The primaries are read before and after the listing. If one has moved, everything is read again.',
    sabotages: [
      {
        takesOut: 'the second reading',
        file: instance('catalog/read-sharding.ts'),
        symbol: 'listPlaced',
        find: 'reading === readingsMax || !haveMoved(before, primaries)',
        replace: 'reading <= readingsMax || !haveMoved(before, primaries)',
        tests: [
          integrationTest(
            'catalog/catalog.test.ts',
            'is read again when a primary moves meanwhile, with its collections under new UUIDs',
          ),
        ],
      },
    ],
  },
];

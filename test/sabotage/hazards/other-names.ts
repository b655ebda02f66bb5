import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const migrated = integrationTest(
  'contract/namespace-remap.test.ts',
  'every collection arrives under its other name, whatever happens to it meanwhile',
);

/** Namespaces that have another name on the destination. */
export const otherNameHazards: readonly Hazard[] = [
  {
    number: 113,
    hazard: 'Two namespaces of the source get one name on the destination, and the later one overwrites the other',
    handling:
      'A namespace has a name there only if no other one can have it. A start is refused, and a migration ends by ' +
      'name when such a collection comes. A rename into another database of the destination is a new copy.',
    sabotages: [
      {
        takesOut: 'the look for another namespace with the same name',
        file: instance('catalog/namespace-remap.ts'),
        symbol: 'CompiledRemap',
        find: 'if (owner !== null && isSame(owner, source)) return found;',
        replace: 'if (owner !== undefined) return found;',
        tests: [
          instanceTest(
            'catalog/namespace-remap.test.ts',
            'belongs to one namespace of the source alone, for all elements',
          ),
        ],
      },
      {
        takesOut: 'the new copy after a rename into another database',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'DdlTracker',
        find: "this.#staysInDatabase(collection, to) ? 'rename' : 'restart'",
        replace: "this.#staysInDatabase(collection, to) ? 'rename' : 'rename'",
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'a rename into another database of the destination is a new copy under the new name',
          ),
        ],
      },
      {
        takesOut: 'the name on the destination of a renamed collection',
        file: instance('lifecycle/task/followed-collections.ts'),
        symbol: 'TaskTables',
        find: '{ ...to, destination: this.remap.toDestination(to) }',
        replace: '{ ...to, destination: task.collection.destination }',
        tests: [migrated],
      },
    ],
  },
];

import type { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

/** Commits a migration once it can be committed, and checks that both clusters have the same user data. */
export async function endsEqual(
  fixture: Fixture,
  instance: ServedInstance,
  databases: readonly string[] = ['shop'],
): Promise<void> {
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  for (const database of databases) await expectEqualDatabases(fixture, database);
}

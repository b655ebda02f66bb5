import type { Collection } from 'mongodb';

/** The indexes of a collection by name, with whether servers are still building them. */
export async function indexStates({
  db,
  collectionName,
}: Pick<Collection, 'db' | 'collectionName'>): Promise<Record<string, 'building' | 'finished'>> {
  const listed = await db.command({ listIndexes: collectionName, includeBuildUUIDs: true });
  const rows = (listed.cursor as { firstBatch: { name?: string; spec?: { name: string } }[] }).firstBatch;
  return Object.fromEntries(
    rows.map(({ name, spec }) => (name === undefined ? [spec?.name ?? '', 'building'] : [name, 'finished'])),
  );
}

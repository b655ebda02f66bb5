import { MongoClient } from 'mongodb';
import { z } from 'zod';

const buildInfo = z.object({ versionArray: z.tuple([z.number(), z.number(), z.number()]).rest(z.number()) });

/** The version that the servers report, for example [5, 0, 7]. */
export async function serverVersion(connectionString: string): Promise<readonly [number, number, number]> {
  const client = new MongoClient(connectionString);
  try {
    const { versionArray } = buildInfo.parse(await client.db('admin').command({ buildInfo: 1 }));
    return [versionArray[0], versionArray[1], versionArray[2]];
  } finally {
    await client.close();
  }
}

import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { LISTED_COLLECTIONS_MAX, type PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import type { FleetDirector } from '../../src/director/fleet-director.js';
import { StartGuide } from '../../src/server/start-guide.js';
import { directorOver, shortTimings, silent, type TestMember, TestMembers, until } from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
/** The longest namespace of a server has 255 bytes. */
const longest = 'n'.repeat(240);
const rows = Array.from({ length: LISTED_COLLECTIONS_MAX }, (_, at) => ({
  database: 'shop',
  collection: `${longest}${at}`,
  totalBytes: LISTED_COLLECTIONS_MAX - at,
  documents: 1,
}));

describeOnRedis('a guided start', (redis) => {
  let group: TestMembers;
  let director: FleetDirector;
  let leader: TestMember;
  beforeEach(async () => {
    const fleet = fleetName();
    group = new TestMembers(redis.settings, fleet);
    director = directorOver({ redis: redis.settings, fleet, logger: silent, timings: shortTimings }).director;
    await director.fleet.open();
    leader = await group.join('shard0');
    await until(director, 'the instance', () => director.snapshot().reports.size === 1);
  });
  afterEach(async () => {
    await Promise.all([group.end(), director.fleet.close()]);
  });

  /** The question as the leader reads it, once it is there. */
  async function asked(topic: QuestionTopic): Promise<StartQuestion> {
    await expect.poll(() => leader.fleet.question(topic)).not.toBeNull();
    const question = await leader.fleet.question(topic);
    if (question === null) throw new Error(`no question of ${topic}`);
    return question;
  }

  function listing(questionId: string): PublishedDetails['sourceListing'] {
    return { questionId, at_ms: Date.now(), failure: null, clusters: null, rows, unlisted: 50 };
  }

  it('gets a listing of the most and longest names whole, and knows how many are left out', async () => {
    const guide = new StartGuide(director.fleet);
    const reply = guide.listing(request);
    const { id, request: read } = await asked('sourceListing');
    expect(read).toMatchObject({ source: 'cluster0', destination: 'cluster1' });
    leader.fleet.publishDetails('sourceListing', listing(id));
    expect(await reply).toMatchObject({ rows, unlisted: 50 });
  });

  it('does not take the answer to an earlier question', async () => {
    leader.fleet.publishDetails('sourceListing', listing('earlier'));
    const reply = new StartGuide(director.fleet, undefined, 1_000).listing(request);
    await expect(reply).rejects.toMatchObject({ error: 'commandTimedOut' });
  });

  it('passes on why the leader cannot answer', async () => {
    const reply = new StartGuide(director.fleet).check(request);
    const { id } = await asked('startCheck');
    const failure = { error: 'unsupportedServerVersion', errorDescription: 'cluster0 cannot be reached.' };
    leader.fleet.publishDetails('startCheck', { questionId: id, at_ms: Date.now(), failure, report: null });
    await expect(reply).rejects.toMatchObject(failure);
  });
});

import { Actor, sessionsMax } from './actions.js';
import type { Clock } from './clock.js';
import type { History } from './history.js';
import type { User } from './user.js';

/**
 * Everything that users do, each session one thing after the other.
 * @param begun_ms when the history begins, on the clock
 * @param userOf the user of a session by its place; their ids of sessions differ
 */
export async function write(
  { actions, stage }: History,
  clock: Clock,
  started_ms: number,
  userOf: (place: number) => User,
): Promise<void> {
  const distinctIds = stage.moves || stage.sourceShards !== stage.destinationShards;
  const inOrder = [...actions].sort((one, other) => one.at_ms - other.at_ms);
  const sessions = Array.from({ length: sessionsMax }, async (_, place) => {
    const actor = new Actor(userOf(place), place, distinctIds, (duration_ms) => clock.sleep(duration_ms));
    for (const action of inOrder) {
      if (action.session !== place) continue;
      await clock.sleep(started_ms + action.at_ms - clock.elapsed_ms);
      await actor.act(action);
    }
  });
  await Promise.all(sessions);
  await clock.sleep(started_ms + stage.writing_ms - clock.elapsed_ms);
}

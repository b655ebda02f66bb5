import type { Action } from '../actions.js';
import { type History, type HistoryChoice, historyOf, type Incident } from '../history.js';

/** Every history has clusters of so many shards on both sides: starting others would take longer than the history. */
export const realShards = 2;
/** How long users write, in milliseconds. */
const writing_ms = 8_000;
const pauseMax_ms = 1_000;
const incidentsMax = 3;
const incidentMax_ms = 3_000;

/**
 * The history of a seed, as small as real time asks for. What one of them does to the network is left out.
 * @param takesSeries whether time series of the source can be migrated; otherwise the history has none
 */
export function realHistoryOf(choice: HistoryChoice, takesSeries: boolean): History {
  const { stage, actions, moves, incidents, incidentsAtCommit } = historyOf(choice);
  const scale = Math.min(1, writing_ms / stage.writing_ms);
  const destinationShards = choice.toReplicaSet ? 0 : realShards;
  return {
    stage: {
      ...stage,
      sourceShards: realShards,
      destinationShards,
      writing_ms: stage.writing_ms * scale,
      series: takesSeries ? stage.series : [],
    },
    actions: actions.filter((action) => takesSeries || !('series' in action)).map((action) => shortened(action, scale)),
    moves: moves.map((one) => ({ ...one, at_ms: one.at_ms > 0 ? one.at_ms * scale : one.at_ms })),
    incidents: incidents
      .slice(0, incidentsMax)
      .map((incident) => ({ ...brief(incident), at_ms: incident.at_ms * scale })),
    incidentsAtCommit: incidentsAtCommit.slice(0, 1).map(brief),
  };
}

function shortened(action: Action, scale: number): Action {
  const at_ms = action.at_ms > 0 ? action.at_ms * scale : action.at_ms;
  return action.kind === 'transaction'
    ? { ...action, at_ms, pause_ms: Math.min(action.pause_ms, pauseMax_ms) }
    : { ...action, at_ms };
}

function brief(incident: Incident): Incident {
  return { ...incident, lasts_ms: Math.min(incident.lasts_ms, incidentMax_ms) };
}

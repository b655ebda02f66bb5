import type { CommandView } from '../message.js';

export interface AnswerView {
  readonly accepted: boolean;
  readonly text: string;
}

/** The instances' replies to a command: one line per rejection, one for all acceptances. */
export function answerViews(results: CommandView['results']): AnswerView[] {
  const all = Object.entries(results);
  const accepted = all.filter(([, { success }]) => success).map(([id]) => id);
  const refused = all.filter(([, { success }]) => !success);
  return [
    ...refused.map(([id, { error, errorDescription }]) => ({
      accepted: false,
      text: `✕ ${id}: ${error ?? 'refused'}. ${errorDescription ?? ''}`.trimEnd(),
    })),
    ...(accepted.length === 0 ? [] : [{ accepted: true, text: `✓ accepted: ${accepted.join(', ')}` }]),
  ];
}

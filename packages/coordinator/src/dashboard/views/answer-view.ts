import type { CommandView } from '../message.js';

export interface AnswerView {
  readonly accepted: boolean;
  readonly text: string;
}

/** What instances have answered to a command: each refusal by itself, those that have accepted in one line. */
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

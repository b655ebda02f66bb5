import { z } from 'zod';
import { startRequestSchema } from '../contract/start-request.js';

/**
 * What a coordinator asks: before a start for the content of the source, or whether options pass the checks; at any
 * time for what the clusters have besides data.
 */
export const questionTopics = ['sourceListing', 'startCheck', 'inventory'] as const;

/** Topic of a question; the answer is published under the same one. */
export type QuestionTopic = (typeof questionTopics)[number];

/**
 * A question that the leader answers: the inventory always, the others while no migration is recorded. Answering only
 * reads. Without a fleet's secret
 * anybody who can write to Redis may ask.
 */
export const startQuestionSchema = z.object({ id: z.string().max(100), request: startRequestSchema });

/** A question of any topic; a listing uses only the names of the clusters. */
export type StartQuestion = z.output<typeof startQuestionSchema>;

import type { Doc, Value } from '../bson/value.js';
import type { ExpressionContext } from '../expression/variables.js';

/** Documents in, documents out. */
export type RunStage = (docs: Iterable<Doc>) => Iterable<Doc>;

/** What a pipeline needs besides its documents. */
export interface PipelineContext extends Omit<ExpressionContext, 'collation'> {
  readonly collation?: ExpressionContext['collation'] | undefined;
  /** The documents of another collection of the same database, for `$lookup` and `$unionWith`. */
  readonly lookup?: ((from: string) => Iterable<Doc>) | undefined;
}

/** Compiles one stage; `compile` compiles inner pipelines. */
export type StageCompiler = (operand: Value, context: PipelineContext, compile: CompilePipeline) => RunStage;

/** Compiles a pipeline. Passed to stages so that they need not import the table that holds them. */
export type CompilePipeline = (stages: readonly Doc[], context: PipelineContext) => RunStage;

/** The part of the context that expressions need. */
export function expressionContext({ collation, version, ...rest }: PipelineContext): ExpressionContext {
  return {
    ...(rest.let === undefined ? {} : { let: rest.let }),
    ...(collation === undefined ? {} : { collation }),
    ...(version === undefined ? {} : { version }),
  };
}

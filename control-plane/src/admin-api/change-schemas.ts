/** Schemas of answers about versions, drafts, and what changes. */
import { Type } from 'typebox'
import { KINDS } from '../model/kinds.ts'
import { Counts, ProblemSchema, Time } from './schemas.ts'

const FieldDifferenceSchema = Type.Object(
  {
    field: Type.String(),
    before: Type.Optional(Type.Unknown()),
    after: Type.Optional(Type.Unknown()),
  },
  { title: 'FieldDifference' },
)

export const VersionSummary = Type.Object(
  {
    number: Type.Integer(),
    hash: Type.String(),
    author: Type.String(),
    message: Type.String(),
    createdAt: Time,
    counts: Counts,
  },
  { title: 'VersionSummary' },
)

export const DifferenceSchema = Type.Object(
  {
    kind: Type.Enum([...KINDS]),
    name: Type.String(),
    change: Type.Enum(['added', 'changed', 'removed']),
    fields: Type.Array(FieldDifferenceSchema),
  },
  { title: 'Difference' },
)

export const VersionAnswer = Type.Object(
  {
    ...VersionSummary.properties,
    previous: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'the kept version before it',
    }),
    changes: Type.Array(DifferenceSchema, {
      description: 'from the version before; the first ones',
    }),
    changesTotal: Type.Integer(),
    resources: Type.Array(
      Type.Object({ kind: Type.Enum([...KINDS]) }, { description: 'the kind and the fields' }),
    ),
  },
  { title: 'Version' },
)

const outcome = {
  kind: Type.Enum([...KINDS]),
  name: Type.String(),
  change: Type.Enum(['created', 'replaced', 'unchanged', 'removed']),
}

export const ApplyAnswer = Type.Object(
  {
    version: Type.Optional(Type.Integer()),
    draft: Type.Optional(Type.String()),
    changes: Type.Array(Type.Object(outcome)),
    warnings: Type.Optional(Type.Array(ProblemSchema)),
  },
  { title: 'Applied' },
)

export const PlanAnswer = Type.Object(
  {
    baseVersion: Type.Integer(),
    changes: Type.Array(Type.Object({ ...outcome, fields: Type.Array(FieldDifferenceSchema) })),
    warnings: Type.Array(ProblemSchema),
  },
  { title: 'Plan' },
)

export const DraftSummarySchema = Type.Object(
  {
    name: Type.String(),
    author: Type.String(),
    baseVersion: Type.Integer(),
    createdAt: Time,
    updatedAt: Time,
    resources: Type.Integer(),
  },
  { title: 'DraftSummary' },
)

export const DraftAnswer = Type.Object(
  {
    ...DraftSummarySchema.properties,
    changes: Type.Array(DifferenceSchema),
    conflicts: Type.Array(ProblemSchema),
  },
  { title: 'Draft' },
)

export const DraftCheckAnswer = Type.Object(
  {
    isPublishable: Type.Boolean(),
    problems: Type.Array(ProblemSchema),
    warnings: Type.Array(ProblemSchema),
  },
  { title: 'DraftCheck' },
)

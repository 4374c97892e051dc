import { z } from 'zod'
import type { ConfigPath } from '../config-problem.ts'

/** What stands around a schema (optional, a default) taken off. */
export function bareSchema(schema: z.ZodType): z.ZodType {
  let bare = schema
  while (bare instanceof z.ZodOptional || bare instanceof z.ZodPrefault) bare = bare.unwrap() as z.ZodType
  return bare
}

/** The schema of a key, with its default; undefined where there is no such key. */
export function schemaAt(root: z.ZodType, path: ConfigPath): z.ZodType | undefined {
  let schema: z.ZodType | undefined = root
  for (const step of path) {
    if (schema === undefined) return undefined
    const bare = bareSchema(schema)
    if (bare instanceof z.ZodObject)
      schema = Object.hasOwn(bare.shape, step) ? (bare.shape[step] as z.ZodType) : undefined
    else if (bare instanceof z.ZodArray) schema = bare.element as z.ZodType
    else if (bare instanceof z.ZodRecord) schema = bare.valueType as z.ZodType
    else return undefined
  }
  return schema
}

/** Names that a map may hold. */
export function keysOf(schema: z.ZodType | undefined): string[] {
  const bare = schema === undefined ? undefined : bareSchema(schema)
  return bare instanceof z.ZodObject ? Object.keys(bare.shape) : []
}

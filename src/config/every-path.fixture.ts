import { z } from 'zod'
import type { ConfigPath } from './problem.ts'
import { bareSchema } from './schema.ts'

/** Every key of the whole schema, list items as `[0]`. */
export function everyPath(schema: z.ZodType, path: ConfigPath = []): ConfigPath[] {
  const bare = bareSchema(schema)
  const below =
    bare instanceof z.ZodObject
      ? Object.entries(bare.shape).flatMap(([key, child]) => everyPath(child as z.ZodType, [...path, key]))
      : bare instanceof z.ZodArray
        ? everyPath(bare.element as z.ZodType, [...path, 0])
        : []
  return path.length === 0 ? below : [path, ...below]
}

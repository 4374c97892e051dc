import { z } from 'zod'
import { configSchema } from './config-schema.ts'

/** Where editors find the schema of the published package. */
export const SCHEMA_URL = 'https://unpkg.com/millrace/schema/millrace.schema.json'

/** The file as editors know it, made from the very schema that judges it. */
export function configJsonSchema(): string {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' })
  return `${JSON.stringify({ $schema, $id: SCHEMA_URL, title: 'millrace.yaml', ...schema }, null, 2)}\n`
}

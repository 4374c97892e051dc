import type { Fields } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import type { AnthropicDialect } from './dialects.ts'
import { canBeHeld, heldSchema } from './held-schema.ts'

/** How the model is made to answer in a form. */
export type FormatPlan =
  | { readonly kind: 'plain' }
  /** It is asked to. */
  | { readonly kind: 'sentence' }
  /** The server holds it to the schema. */
  | { readonly kind: 'held'; readonly schema: Fields }
  /** A tool that it has to call takes the answer. */
  | { readonly kind: 'tool'; readonly name: string; readonly description: string | undefined; readonly schema: Fields }

export function planFormat({ format }: Conversation, { traits, withoutFields }: AnthropicDialect): FormatPlan {
  if (format === undefined || format.type === 'text') return { kind: 'plain' }
  if (format.type !== 'json_schema' || format.schema === undefined) return { kind: 'sentence' }
  const { name, description, schema } = format
  const holds = traits.jsonSchema === 'native' && !withoutFields.includes('output_config')
  if (holds && (canBeHeld(schema) || !traits.forcedToolChoice)) return { kind: 'held', schema: heldSchema(schema) }
  return { kind: 'tool', name, description, schema }
}

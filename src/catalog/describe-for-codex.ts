import type { Effort } from '../model/effort.ts'
import type { CatalogEntry } from './catalog.ts'
import { CODEX_INSTRUCTIONS } from './codex-instructions.ts'

interface EffortLevel {
  readonly effort: Effort
  readonly description: string
}

/**
 * One entry of the list that Codex reads beside `data`. What it needs and what it makes of it was measured with Codex 0.169:
 * `docs/clients/codex.md`. A single entry that it cannot decode loses it the whole list.
 */
export interface CodexModel {
  readonly slug: string
  readonly display_name: string
  readonly description?: string
  readonly supported_reasoning_levels: readonly EffortLevel[]
  /** What it sends where its user has set nothing. Left out: it sends no effort. */
  readonly default_reasoning_level?: Effort
  readonly visibility: 'list' | 'hide'
  readonly supported_in_api: true
  /** Lower stands higher in its picker. */
  readonly priority: number
  readonly base_instructions: string
  /** It compacts at nine tenths of it. */
  readonly context_window: number
  readonly input_modalities: readonly string[]
  readonly shell_type: 'unified_exec'
  readonly apply_patch_tool_type: 'freeform'
  readonly support_verbosity: false
  readonly truncation_policy: { readonly mode: 'tokens'; readonly limit: number }
  readonly experimental_supported_tools: readonly string[]
}

/** How much of a tool's output it keeps: what it does for models of its own. */
const TOOL_OUTPUT_TOKENS = 10_000

export const describeForCodex = (entries: readonly CatalogEntry[]): CodexModel[] => entries.map(describeEntry)

function describeEntry({ id, model, suffixEffort }: CatalogEntry, index: number): CodexModel {
  const efforts = suffixEffort === undefined ? (model.efforts ?? []) : [suffixEffort]
  const levels = efforts.filter(isSentAsNamed).map((effort) => ({ effort, description: `${effort} effort` }))
  // Whoever has chosen a suffix has chosen the effort: another default, such as that of a model of its own whose name begins
  // alike, would be a conflict. Where there is no suffix the provider decides, as for every other client.
  const fixed = suffixEffort !== undefined && isSentAsNamed(suffixEffort) ? suffixEffort : undefined
  return {
    slug: id,
    display_name: id,
    ...(model.description === undefined ? {} : { description: model.description }),
    supported_reasoning_levels: levels,
    ...(fixed === undefined ? {} : { default_reasoning_level: fixed }),
    // Its picker asks for `none` from a model without levels, which such a model does not have. Named in the settings or by
    // `-m`, the same model is asked for nothing.
    visibility: levels.length > 0 ? 'list' : 'hide',
    supported_in_api: true,
    priority: index,
    base_instructions: CODEX_INSTRUCTIONS,
    context_window: model.contextTokens,
    input_modalities: model.inputs.filter(isKnownToCodex),
    shell_type: 'unified_exec',
    apply_patch_tool_type: 'freeform',
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: TOOL_OUTPUT_TOKENS },
    experimental_supported_tools: [],
  }
}

/** It decodes any word as an effort and sends it as it is, but for `ultra`, which it sends as `max`. */
export const isSentAsNamed = (effort: Effort): boolean => effort !== 'ultra'

const isKnownToCodex = (input: string): boolean => input === 'text' || input === 'image'

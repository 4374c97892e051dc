import { readTools, type ToolDefinition } from './read-tools.ts'

export type Protocol = 'chat' | 'responses'

/** Everything beside the conversation, as it is typed: numbers may be half written. */
export interface PlaySettings {
  readonly model: string
  /** Empty: the provider's own default. */
  readonly effort: string
  readonly protocol: Protocol
  readonly pays: 'wallet' | 'builder'
  readonly system: string
  readonly tools: string
  readonly maxTokens: string
  readonly temperature: string
}

export const FIRST_SETTINGS: PlaySettings = {
  model: '',
  effort: '',
  protocol: 'chat',
  pays: 'wallet',
  system: '',
  tools: '',
  maxTokens: '',
  temperature: '',
}

/** The same, checked, as a request is made of it. */
export interface TurnTerms {
  readonly model: string
  readonly effort: string | undefined
  readonly system: string | undefined
  readonly tools: readonly ToolDefinition[]
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
}

const TEMPERATURE_MAX = 2

/** Undefined for an empty field, null for what is no number of tokens. */
export function readMaxTokens(text: string): number | undefined | null {
  if (text.trim() === '') return undefined
  return /^[1-9]\d{0,8}$/.test(text.trim()) ? Number(text) : null
}

export function readTemperature(text: string): number | undefined | null {
  if (text.trim() === '') return undefined
  const written = text.trim().replace(',', '.')
  return /^\d(\.\d{1,4})?$/.test(written) && Number(written) <= TEMPERATURE_MAX ? Number(written) : null
}

/** The settings as a request can be made of them; undefined while something in them is wrong. */
export function turnTerms(settings: PlaySettings): TurnTerms | undefined {
  const tools = readTools(settings.tools)
  const maxTokens = readMaxTokens(settings.maxTokens)
  const temperature = readTemperature(settings.temperature)
  if (tools.kind !== 'tools' || maxTokens === null || temperature === null || settings.model === '') return undefined
  return {
    model: settings.model,
    effort: settings.effort.trim() || undefined,
    system: settings.system.trim() === '' ? undefined : settings.system,
    tools: tools.tools,
    maxTokens,
    temperature,
  }
}

import { readTools, type ToolDefinition } from './read-tools.ts'

export type Protocol = 'chat' | 'responses'

/** The settings as typed. Numbers may be incomplete. */
export interface PlaySettings {
  readonly model: string
  /** Empty: the default of the provider. */
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

/** The validated settings. */
export interface TurnTerms {
  readonly model: string
  readonly effort: string | undefined
  readonly system: string | undefined
  readonly tools: readonly ToolDefinition[]
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
}

const TEMPERATURE_MAX = 2

/** Undefined for an empty field, null for an invalid one. */
export function readMaxTokens(text: string): number | undefined | null {
  if (text.trim() === '') return undefined
  return /^[1-9]\d{0,8}$/.test(text.trim()) ? Number(text) : null
}

export function readTemperature(text: string): number | undefined | null {
  if (text.trim() === '') return undefined
  const written = text.trim().replace(',', '.')
  return /^\d(\.\d{1,4})?$/.test(written) && Number(written) <= TEMPERATURE_MAX ? Number(written) : null
}

/** Undefined while a setting is invalid. */
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

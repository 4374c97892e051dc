import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type Plan = AnswerOf<'GET /plan'>
export type PlanWindow = Plan['windows'][number]
export type WindowRow = AnswerOf<'GET /plan/windows/:window'>['items'][number]

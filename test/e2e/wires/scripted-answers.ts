import { type ModelState, POLITE, sayingOf } from '../../fakes/polite-model.ts'

/** It does as it is told, and where it is told to do it aloud it says so before it calls anything. */
export const scriptedAnswers = (countsOf: ModelState['countsOf'] = POLITE.countsOf): ModelState => ({
  sayingOf(parsedRequest) {
    const saying = sayingOf(parsedRequest)
    const question = parsedRequest.steps.findLast(({ from }) => from === 'user')?.text ?? ''
    return saying.calls.length > 0 && question.includes('aloud') ? { ...saying, words: ALOUD } : saying
  },
  countsOf,
})

const ALOUD = ['I will', ' do', ' it.']

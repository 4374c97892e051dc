/** The runs of CI jobs, whose keys are not stored. */
export const jobsMigration: readonly string[] = [
  'ALTER TABLE runs ADD COLUMN key INTEGER',
  'ALTER TABLE runs ADD COLUMN tags TEXT',
]

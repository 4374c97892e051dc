/**
 * Each change by a directory counts up `scim_version`, so that of two at once the later one reads again. `deactivated_at`: when the
 * directory has disabled the person, whom only then it may enable.
 */
export const directoriesMigration: readonly string[] = [
  'ALTER TABLE accounts ADD COLUMN scim_version INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE scim_users ADD COLUMN deactivated_at INTEGER',
]

/** The account that a mail is about, whose mails are bounded together. */
export const mailLanesMigration: readonly string[] = [
  'ALTER TABLE notice_deliveries ADD COLUMN mail_account INTEGER',
  `CREATE INDEX invitations_of_account ON notice_deliveries (mail_account, created_at) WHERE event = 'invitation'`,
]

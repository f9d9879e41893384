/** The messages of the contract between the planes. With services.ts the only import path of the generated code. */
export * from './generated/sluice/v1/configuration.ts'
export * from './generated/sluice/v1/enrolment.ts'
export * from './generated/sluice/v1/fleet.ts'
export * from './generated/sluice/v1/telemetry.ts'

//! Family `dispatch`: which queued requests' operations may go to flash now.

/// Decides when a queued request is taken up.
pub trait Dispatch {
    /// Whether the oldest queued request may be taken up while `in_service` others are.
    fn admits(&self, in_service: u32) -> bool;
}

wordline_firmware::policies! {
    family "dispatch" decides "which queued requests' operations may go to flash now";
    trait Dispatch, config DispatchConfig, policy DispatchPolicy;
    members {
        /// In the order of arrival.
        "fifo" => fifo::Fifo,
    }
    methods {
        fn admits(self: &Self, in_service: u32) -> bool;
    }
}
